//! The workflows of this project: the rules hold, and each of them would tell what breaks it.

use std::path::Path;

use crate::workflow_files::Workflows;
use crate::workflow_rules::{NIGHTLY, complaints};

fn ours() -> Workflows {
    Workflows::of(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")))
}

#[test]
fn every_rule_holds() {
    assert_eq!(complaints(&ours()), Vec::<String>::new());
    assert_eq!(ours().workflow(NIGHTLY)["jobs"]["long"]["steps"][1]["env"]["SPRAG_LONG_TESTS"].as_str(), Some("1"));
}

#[test]
fn a_broken_rule_is_reported() {
    let ours = ours();
    let check = |file: &str, from: &str, to: &str, wanted: &str| {
        let printed = complaints(&ours.with(file, from, to));
        assert!(printed.iter().any(|one| one.contains(wanted)), "{file}: `{from}` to `{to}` gives {printed:#?}");
    };
    const CHECKOUT: &str = "actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1";
    for (file, from, to, wanted) in [
        // What starts them.
        ("perf.yml", "  pull_request:\n", "  pull_request_target:\n", "triggers are"),
        ("perf.yml", "  merge_group:\n", "", "triggers are"),
        ("perf_gpu.yml", "  pull_request:\n", "  pull_request:\n    paths: [kernels]\n", "filtered by the trigger"),
        ("perf_gpu.yml", "default: skip", "default: self-hosted-gpu", "`run_mode` does not default to skip"),
        ("perf_trend_weekly.yml", "default: false", "default: true", "`run_gpu` does not default to false"),
        ("perf_trend_weekly.yml", "23 5 * * 1", "0 5 * * 1", "at a full hour"),
        // What they may do.
        ("ci.yml", "permissions: {}\n\n", "", "do not begin with none"),
        ("ci.yml", "permissions: {}\n\n", "permissions: write-all\n\n", "do not begin with none"),
        ("perf.yml", "contents: read # C", "contents: write # C", "wanted are {\"contents\": \"read\"}"),
        ("perf.yml", "    permissions: {}\n", "", "perf.yml: gate: permissions are not listed"),
        ("perf_trend_weekly.yml", "contents: read # C", "contents: write # C", "cpu-trend: permissions are"),
        ("release.yml", "      attestations: write # Keep the attestation.\n", "", "publish: permissions are"),
        // What they call.
        ("ci.yml", CHECKOUT, "actions/checkout@v7", "is not pinned to a commit"),
        ("ci.yml", CHECKOUT, "actions/checkout@3d3c42e5 # v7.0.1", "is not pinned to a commit"),
        ("ci.yml", "3d3c42e5aac5", "3d3c42e5aac6", "has two commits"),
        ("ci.yml", "actions/upload-artifact@", "someone/upload-artifact@", "is not pinned to a commit"),
        ("ci.yml", " # v7.0.1", "", "no version beside"),
        // How long, where, and what is left behind.
        ("release.yml", "    timeout-minutes: 30\n", "", "publish: no timeout"),
        ("perf.yml", "runs-on: ubuntu-24.04", "runs-on: ubuntu-latest", "the runner has no version"),
        ("perf.yml", "          persist-credentials: false\n", "", "keeps its token"),
        // One after another.
        (
            "release.yml",
            "concurrency:\n  group: release-${{ github.ref }}\n  cancel-in-progress: false\n",
            "",
            "no concurrency",
        ),
        ("perf.yml", "cancel-in-progress: true", "cancel-in-progress: false", "does not end the gate of an older"),
        ("perf_trend_weekly.yml", "      queue: max\n", "", "can be dropped"),
        ("perf_trend_weekly.yml", "group: perf-history", "group: perf-history-${{ github.run_id }}", "can be dropped"),
        ("perf_trend_weekly.yml", "group: pages\n      cancel-in-progress: false", "group: pages", "cut short"),
        // What is handed on.
        (
            "perf_trend_weekly.yml",
            "name: perf-trend-cpu-weekly\n          path: runs/",
            "name: cpu\n          path: runs/",
            "uploads",
        ),
        (
            "perf_trend_weekly.yml",
            "needs: [cpu-trend, gpu-trend, book]\n",
            "needs: [cpu-trend, book]\n",
            "uploads None Some(\"perf-trend-gpu",
        ),
        ("release.yml", "pattern: release-*", "pattern: archive-*", "uploads None Some(\"archive-*\")"),
        ("perf.yml", "        if: always()\n", "", "`perf-gate` is not kept"),
        ("perf_gpu.yml", "        if: always()\n", "        if: success()\n", "-artifacts` is not kept"),
        // What is required.
        ("perf.yml", "    if: always()\n    runs-on", "    runs-on", "does not wait for all others, always"),
        ("perf.yml", "needs: [scope, measure]", "needs: [measure]", "does not wait for all others, always"),
        ("perf.yml", "    name: perf gate\n", "    name: gate\n", "not called `perf gate`"),
        ("perf.yml", "${{ needs.measure.result }}", "success", "does not look at `measure`"),
        (
            "perf.yml",
            "    needs: scope\n",
            "    needs: scope\n    continue-on-error: true\n",
            "goes on where something failed",
        ),
        // Runners of one's own.
        ("perf.yml", "runs-on: ubuntu-24.04", "runs-on: [self-hosted, gpu]", "may not have a runner of one's own"),
        ("perf_gpu.yml", "head.repo.full_name == github.repository)", "head.repo.full_name != '')", "the guard is"),
        ("perf_gpu.yml", "head.repo.full_name != github.repository", "head.repo.fork", "code of a fork was refused"),
        ("perf_gpu.yml", "[self-hosted, linux, x64, gpu]", "[self-hosted, linux]", "other labels"),
        ("perf_gpu.yml", "    environment: $", "    x-environment: $", "other labels or environment"),
        ("perf_gpu.yml", "|| 'perf-gpu' }}", "|| 'perf-gpu-scheduled' }}", "other labels or environment"),
        ("perf_gpu.yml", "${{ inputs.trt_plugin_lib || vars.SPRAG_TRT_PLUGIN_LIB }}", "x", "`TRT_PLUGIN_LIB` does not"),
        ("perf_trend_weekly.yml", "vars.SPRAG_ENABLE_GPU_WEEKLY == 'true' ||\n", "true ||\n", "the guard is"),
        // Scripts.
        ("perf.yml", "mkdir -p perf\n", "mkdir -p ${{ github.head_ref }}\n", "an expression stands in a script"),
        ("actions/sprag/action.yml", "cargo build", "echo ${{ github.ref }}; cargo build", "action.yml: an expression"),
        ("perf.yml", "            echo \"::stop-commands::$pause\"\n", "", "the runner listens to `sprag compare"),
        (
            "perf_trend_weekly.yml",
            "            printf '\\n::%s::\\n' \"$pause\"\n",
            "",
            "nobody listens to annotations",
        ),
        ("ci.yml", "          echo \"::stop-commands::$pause\"\n", "", "the runner listens to `sprag history fsck"),
        ("perf_trend_weekly.yml", "echo \"::stop-commands::$pause\"\n", "true\n", "listens to `sprag history sync"),
        ("release.yml", "echo \"::stop-commands::$pause\"\n", "true\n", "listens to `sprag release attest"),
        ("action.yml", "echo \"::stop-commands::$pause\"\n", "true\n", "the runner listens to `sprag \""),
        ("perf_trend_weekly.yml", "        if: always() # Also", "        # Also", "nobody says what failed"),
        // Whoever can write.
        (
            "perf_trend_weekly.yml",
            "sprag history sync",
            "sprag run; sprag history sync",
            "where something can be written",
        ),
        ("perf_trend_weekly.yml", "sprag history add incoming", "true", "in that order"),
        (
            "perf_trend_weekly.yml",
            "subject-checksums: verdicts/gpu.SHA256SUMS",
            "subject-path: x\n      - uses: actions/attest@x",
            "both attested",
        ),
        ("release.yml", "        if: vars.SPRAG_ATTEST != 'false'\n", "", "publish: nobody can do without"),
        (
            "perf_trend_weekly.yml",
            "      - name: Judge the newest runs\n",
            "      - uses: actions/attest@x\n      - name: Judge the newest runs\n",
            "only where it could be attested",
        ),
        ("perf_trend_weekly.yml", "    needs: record\n", "    needs: cpu-trend\n", "what was not recorded is deployed"),
        ("perf_trend_weekly.yml", "      - name: Send\n", "      - name: Sent\n", "a step has the token"),
        (
            "release.yml",
            "          ref: ${{ github.event.repository.default_branch }}\n",
            "",
            "evidence: works on another",
        ),
        ("perf_trend_weekly.yml", "github.event.repository.default_branch", "github.ref", "record: works on another"),
        ("release.yml", "sprag release verify evidence", "true", "gathered, attested and verified"),
        ("release.yml", "needs: [evidence, build]", "needs: build", "published without evidence"),
    ] {
        check(file, from, to, wanted);
    }
}

#[test]
fn what_they_download_is_our_release() {
    let action = ours();
    let (_, text, yaml) = action.all().find(|(path, ..)| *path == "action.yml").expect("there is an action");
    let version = yaml["inputs"]["version"]["default"].as_str();
    assert_eq!(version, Some(concat!("v", env!("CARGO_PKG_VERSION"))));
    // Archives are called what `scripts/pack-release.sh` calls them, for what `release.yml` builds.
    let build = action.job("release.yml", "build");
    let matrix = build.yaml["strategy"]["matrix"]["include"].as_vec().expect("a list");
    assert_eq!(matrix.len(), 5);
    for one in matrix {
        let target = one["target"].as_str().expect("a target");
        assert!(text.contains(&format!("target={target} ;;")), "{target}");
    }
    let pack = include_str!("../../scripts/pack-release.sh");
    assert!(pack.contains("name=sprag-$tag-$target\n") && text.contains("archive=sprag-$VERSION-$target.tar.gz\n"));
    let publish = action.job("release.yml", "publish").scripts();
    assert!(publish.contains("sha256sum -c --strict SHA256SUMS") && publish.contains("scripts/sbom.py"));
}
