import json
import unittest

import sbom
from workflow_runner.runner import is_bill


class BillOfMaterials(unittest.TestCase):
    def test_a_release_can_attest_it(self):
        document = json.loads(json.dumps(sbom.bom(sbom.metadata(), sbom.checksums())))
        self.assertTrue(is_bill(document))
        self.assertRegex(document["serialNumber"], r"^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")
        self.assertIn("parquet", {one["name"] for one in document["components"]})
        for key in ("bomFormat", "serialNumber", "specVersion"):
            self.assertFalse(is_bill({name: text for name, text in document.items() if name != key}), key)

    def test_the_number_is_that_of_the_content(self):
        one, other = {"bomFormat": "CycloneDX", "version": 1}, {"bomFormat": "CycloneDX", "version": 2}
        self.assertEqual(sbom.numbered(one), sbom.numbered(dict(one)))
        self.assertNotEqual(sbom.numbered(one)["serialNumber"], sbom.numbered(other)["serialNumber"])


if __name__ == "__main__":
    unittest.main()
