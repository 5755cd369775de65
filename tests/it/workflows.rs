//! Our workflows keep the rules, and each rule can fail.

use crate::sandbox::assert_contains;
use crate::workflow_files::Workflows;
use crate::workflow_rules::{NIGHTLY, complaints};

#[test]
fn every_rule_holds() {
    assert_eq!(complaints(&Workflows::ours()), Vec::<String>::new());
    assert_eq!(
        Workflows::ours().workflow(NIGHTLY)["jobs"]["long"]["steps"][1]["env"]["SPRAG_LONG_TESTS"].as_str(),
        Some("1")
    );
}

#[test]
fn a_broken_rule_is_reported() {
    let ours = Workflows::ours();
    const STOP: &str = "echo \"::stop-commands::$pause\"\n";
    const WEEKLY: &str = "perf_trend_weekly.yml";
    const BISECT: &str = "perf_bisect.yml";
    for (file, from, to, wanted) in [
        // What starts them.
        ("perf.yml", "  pull_request:\n", "  pull_request_target:\n", "triggers are"),
        ("perf_gpu.yml", "  pull_request:\n", "  pull_request:\n    paths: [kernels]\n", "filtered by the trigger"),
        ("perf_gpu.yml", "default: skip", "default: self-hosted-gpu", "`run_mode` does not default to skip"),
        (WEEKLY, "default: false", "default: true", "`run_gpu` does not default to false"),
        (WEEKLY, "23 5 * * 1", "0 5 * * 1", "at a full hour"),
        // What they may do.
        ("perf.yml", "contents: read # C", "contents: write # C", "wanted are {\"contents\": \"read\"}"),
        ("release.yml", "      attestations: write # Keep the attestation.\n", "", "publish: permissions are"),
        (
            "perf_comment.yml",
            "      - name: Comment\n",
            "      - uses: actions/checkout@x\n      - name: Comment\n",
            "does more than run",
        ),
        // What they call.
        ("ci.yml", "3d3c42e5aac5", "3d3c42e5aac6", "has two commits"),
        ("ci.yml", "actions/upload-artifact@", "someone/upload-artifact@", "is not an action of GitHub"),
        ("ci.yml", " # v7.0.1", "", "no version beside"),
        // Limits.
        ("release.yml", "    timeout-minutes: 30\n", "", "publish: no timeout"),
        ("perf.yml", "runs-on: ubuntu-24.04", "runs-on: ubuntu-latest", "the runner has no version"),
        // Concurrency.
        ("perf.yml", "cancel-in-progress: true", "cancel-in-progress: false", "does not end the gate of an older"),
        (WEEKLY, "      queue: max\n", "", "can be dropped"),
        (WEEKLY, "group: perf-history", "group: perf-history-${{ github.run_id }}", "can be dropped"),
        (WEEKLY, "group: pages\n      cancel-in-progress: false", "group: pages", "cut short"),
        // Final jobs.
        ("perf.yml", "    if: always()\n    runs-on", "    runs-on", "does not wait for all others, always"),
        ("perf.yml", "needs: [scope, measure]", "needs: [measure]", "does not wait for all others, always"),
        ("perf.yml", "    name: perf gate\n", "    name: gate\n", "not called `perf gate`"),
        ("perf.yml", "${{ needs.measure.result }}", "success", "does not look at `measure`"),
        ("perf.yml", "    needs: scope\n", "    continue-on-error: true\n", "goes on where something failed"),
        (WEEKLY, "        if: always() # Also", "        # Also", "nobody says what failed"),
        // What judges a change.
        ("perf.yml", " --config-from \"$BASE\"", "", "measure: a change is judged by what it brings"),
        ("perf_gpu.yml", " --config-from \"$BASE\"", "", "gpu-perf-regression: a change is judged by"),
        ("perf_gpu.yml", " -C \"$RUNNER_TEMP/base\"", "", "gpu-perf-regression: a change is"),
        // Self-hosted runners.
        ("perf.yml", "runs-on: ubuntu-24.04", "runs-on: [self-hosted, gpu]", "may not have a self-hosted runner"),
        ("perf_gpu.yml", "head.repo.full_name == github.repository)", "head.repo.full_name != '')", "the guard is"),
        ("perf_gpu.yml", "head.repo.full_name != github.repository", "head.repo.fork", "code of a fork was refused"),
        ("perf_gpu.yml", "[self-hosted, linux, x64, gpu]", "[self-hosted, linux]", "other labels"),
        ("perf_gpu.yml", "|| 'perf-gpu' }}", "|| 'perf-gpu-scheduled' }}", "other labels or environment"),
        ("perf_gpu.yml", "${{ inputs.trt_plugin_lib || vars.SPRAG_TRT_PLUGIN_LIB }}", "x", "`TRT_PLUGIN_LIB` does not"),
        (WEEKLY, "vars.SPRAG_ENABLE_GPU_WEEKLY == 'true' ||\n", "true ||\n", "the guard is"),
        // Scripts.
        (WEEKLY, "            printf '\\n::%s::\\n' \"$pause\"\n", "", "nobody listens to annotations"),
        ("ci.yml", STOP, "true\n", "the runner listens to `sprag history fsck"),
        (WEEKLY, STOP, "true\n", "listens to `sprag history sync"),
        (BISECT, STOP, "true\n", "listens to `sprag bisect"),
        ("release.yml", STOP, "true\n", "listens to `sprag release attest"),
        ("action.yml", STOP, "true\n", "the runner listens to `sprag \""),
        // Jobs that can write.
        (WEEKLY, "sprag history sync", "sprag run; sprag history sync", "where something can be written"),
        (WEEKLY, "sprag history add \"$place\" \"${expected[@]}\"", "true", "in that order"),
        (BISECT, "sprag history sync", "sprag bisect; sprag history sync", "record: what is tested runs where"),
        (BISECT, "inputs.jobs != '1'\n", "inputs.jobs != '1' || true\n", "share: starts by itself"),
        (WEEKLY, "uses: actions/attest@", "uses: actions/test@", "both attested"),
        ("release.yml", "        if: vars.SPRAG_ATTEST != 'false'\n", "", "publish: attestations cannot be turned off"),
        (
            WEEKLY,
            "      - name: Judge",
            "      - uses: actions/attest@x\n      - name: Judge",
            "only where it could be",
        ),
        (WEEKLY, "    needs: record\n", "    needs: cpu-trend\n", "what was not recorded is deployed"),
        (WEEKLY, "      - name: Send\n", "      - name: Sent\n", "a step has the token"),
        ("release.yml", "ref: ${{ github.event.repository.default_branch }}\n", "x: y\n", "evidence: works on another"),
        (WEEKLY, "github.event.repository.default_branch", "github.ref", "record: works on another"),
        ("release.yml", "sprag release verify evidence", "true", "gathered, attested and verified"),
        ("release.yml", "needs: [evidence, build]", "needs: build", "published without evidence"),
    ] {
        let printed = complaints(&ours.with(file, from, to));
        assert!(printed.iter().any(|one| one.contains(wanted)), "{file}: `{from}` to `{to}` gives {printed:#?}");
    }
}

#[test]
fn what_they_download_is_our_release() {
    let action = Workflows::ours();
    let (_, text, yaml) = action.all().find(|(path, ..)| *path == "action.yml").expect("there is an action");
    let version = yaml["inputs"]["version"]["default"].as_str();
    assert_eq!(version, Some(concat!("v", env!("CARGO_PKG_VERSION"))));
    // The names of archives are those of `scripts/pack-release.sh`.
    let build = action.job("release.yml", "build");
    let matrix = build.yaml["strategy"]["matrix"]["include"].as_vec().expect("a list");
    assert_eq!(matrix.len(), 5);
    for one in matrix {
        let target = one["target"].as_str().expect("a target");
        assert_contains(text, &[&format!("target={target} ;;")]);
    }
    let pack = include_str!("../../scripts/pack-release.sh");
    assert_contains(pack, &["name=sprag-$tag-$target\n"]);
    assert_contains(text, &["archive=sprag-$VERSION-$target.tar.gz\n"]);
    let publish = action.job("release.yml", "publish").scripts();
    assert_contains(&publish, &["sha256sum -c --strict SHA256SUMS", "scripts/sbom.py"]);
}
