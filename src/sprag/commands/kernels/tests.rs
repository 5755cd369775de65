//! The JSON of `kernels compile` and `kernels check` against their schemas.

use super::*;

#[test]
fn documents_follow_their_schemas() {
    let check = |schema: &str, document: &Value, expected: bool| {
        let schema = serde_json::from_str(schema).expect("it is JSON");
        assert_eq!(jsonschema::is_valid(&schema, document), expected, "{document}");
    };
    let compile_schema = include_str!("../../../../schemas/kernels-compile-1.json");
    let check_schema = include_str!("../../../../schemas/kernels-check-1.json");
    let kernel = survey::CompiledKernel {
        file: "scan.cu".to_owned(),
        entry: "scan".to_owned(),
        dtype: "f16",
        defines: [("BLOCK".to_owned(), 128)].into(),
        arch: "sm_90".to_owned(),
        status: "ok",
        registers: Some(32),
        shared_bytes: None,
        spill_bytes: Some(0),
        log: None,
    };
    check(compile_schema, &report("ok", "kernels", &[kernel]), true);
    check(compile_schema, &report("ok", "kernels", &[()]), false);
    let checked = [survey::Checked {
        operation: "scan".to_owned(),
        shape: "b=1".to_owned(),
        dtype: "f16".to_owned(),
        form: "tuned",
        configuration: Some("block128".to_owned()),
        status: "within",
        max_abs_error: Some(1e-3),
        tolerance: Some(1e-2),
        reason: None,
    }];
    check(check_schema, &check_report("ok", None, "H200", &checked), true);
    check(check_schema, &check_report("failed", Some("the device broke".to_owned()), "H200", &checked), true);
    check(check_schema, &check_report("fine", None, "H200", &[]), false);
    check(compile_schema, &report("skipped", "checks", &[(); 0]), false);
    for (list, schema) in [("kernels", compile_schema), ("checks", check_schema)] {
        let mut out = Vec::new();
        skipped(list, "no device", true, &mut out).expect("it can be printed");
        check(schema, &serde_json::from_slice(&out).expect("it is JSON"), true);
    }
}
