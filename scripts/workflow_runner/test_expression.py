import unittest

from workflow_runner import expression

TABLE = {"a.b": "x", "github.event_name": "schedule", "none": None, "vars.ON": "true", "inputs.gpu": True}
GOOD = {"always": True, "cancelled": False, "failure": False, "success": True}
BAD = GOOD | {"failure": True, "success": False}


class Expressions(unittest.TestCase):
    def test_values(self):
        for text, wanted in [
            ("a.b", "x"),
            ("${{ a.b }}", "x"),
            ("none || a.b", "x"),
            ("a.b == 'x'", True),
            ("a.b != 'x'", False),
            ("none == ''", True),
            ("none == true", False),
            ("none != 'x'", True),
            ("inputs.gpu == true", True),
            ("!(a.b == 'x') || vars.ON == 'true' && github.event_name == 'schedule'", True),
            ("'it''s'", "it's"),
        ]:
            self.assertEqual(expression.value(text, TABLE), wanted, text)

    def test_what_is_not_known_is_an_error(self):
        for text in ["b", "a.b.c", "contains(a.b, 'x')", "a.b ==", "(a.b", "a.b a.b", "a.b + 1", "''' x", "vars.OFF", "1"]:
            with self.assertRaises(expression.Unknown, msg=text):
                expression.value(text, TABLE)

    def test_texts_are_filled(self):
        self.assertEqual(expression.filled("<${{ a.b }}-${{none}}-${{ inputs.gpu }}>", TABLE), "<x--true>")

    def test_conditions(self):
        for condition, good, bad in [
            (None, True, False),
            ("a.b == 'x'", True, False),
            ("a.b == 'y'", False, False),
            ("always()", True, True),
            ("${{ !cancelled() }}", True, True),
            ("${{ !cancelled() && a.b == 'y' }}", False, False),
            ("failure()", False, True),
        ]:
            self.assertEqual(expression.holds(condition, TABLE, GOOD), good, condition)
            self.assertEqual(expression.holds(condition, TABLE, BAD), bad, condition)


if __name__ == "__main__":
    unittest.main()
