//! From figures of noise to how fit the machine is for each class of kernels.

use super::findings::{ClassFitness, Fitness, KernelFindings, NoiseFindings};
use crate::noise::{KernelNoise, Noise};
use crate::workload::Class;
use sprag_base::stats::describe;

/// A class is good where the ratio shows a change of this size: the tolerance of the gate for compute and cache kernels.
const GOOD: f64 = 0.02;

/// … and usable where it shows one of this size, beyond which rules by bands speak of a failure.
const USABLE: f64 = 0.05;

/// A run with a larger share of preempted samples is no clean run.
const MOST_PREEMPTED: f64 = 0.10;

/// How far from 1 a control may be on top of the half width of its interval.
const CONTROL_SLACK: f64 = 0.005;

/// Digits of a figure in the document: two runs of the doctor differ in the second.
const DIGITS: usize = 4;

pub(super) fn findings(noise: &Noise) -> NoiseFindings {
    let classes = [Class::Compute, Class::Cache, Class::Dram].map(|class| fitness(class, &noise.kernels));
    NoiseFindings {
        processes: noise.processes,
        faults: noise.faults.clone(),
        classes: classes.into(),
        kernels: noise.kernels.iter().map(kernel).collect(),
    }
}

fn kernel(noise: &KernelNoise) -> KernelFindings {
    let round = |value: f64| describe::round_significant(value, DIGITS);
    KernelFindings {
        class: noise.class.word().to_owned(),
        kernel: noise.kernel.clone(),
        time: round(noise.seconds),
        within: noise.within.map(round),
        between: noise.between.map(round),
        preempted_share: noise.preempted.map(round),
        beside: noise.companion.clone(),
        is_control: noise.is_control,
        // Ratios lie around 1, so their digits after the point count.
        ratio: noise.ratio.map(|ratio| describe::round_significant(ratio, DIGITS + 2)),
        ratio_interval: noise
            .ratio_interval
            .map(|(low, high)| [low, high].map(|end| describe::round_significant(end, DIGITS + 2))),
        detectable_time: noise.detectable_time.map(round),
        detectable_ratio: noise.detectable_ratio.map(round),
    }
}

fn fitness(class: Class, kernels: &[KernelNoise]) -> ClassFitness {
    let verdicts: Vec<(Fitness, Option<String>)> =
        kernels.iter().filter(|kernel| kernel.class == class).flat_map(judge).collect();
    ClassFitness {
        class: class.word().to_owned(),
        fitness: verdicts.iter().map(|(fitness, _)| *fitness).max().unwrap_or(Fitness::Unknown),
        reasons: verdicts.into_iter().filter_map(|(_, reason)| reason).collect(),
    }
}

fn judge(kernel: &KernelNoise) -> Vec<(Fitness, Option<String>)> {
    let name = &kernel.kernel;
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let mut verdicts = vec![match kernel.detectable_ratio {
        None => (Fitness::Unknown, Some(format!("{name}: too few processes for an interval"))),
        Some(effect) if effect <= GOOD => (Fitness::Good, None),
        Some(effect) => {
            let fitness = if effect <= USABLE { Fitness::Usable } else { Fitness::Poor };
            (fitness, Some(format!("{name}: a change of its ratio shows from {} on", percent(effect))))
        }
    }];
    if let Some(share) = kernel.preempted.filter(|share| *share > MOST_PREEMPTED) {
        let most = percent(MOST_PREEMPTED);
        verdicts.push((
            Fitness::Poor,
            Some(format!("{name}: {} of its samples were interrupted, over the limit of {most}", percent(share))),
        ));
    }
    if let Some((ratio, half)) = kernel.is_control.then(|| kernel.ratio.zip(half_width(kernel))).flatten()
        && (ratio - 1.0).abs() > half + CONTROL_SLACK
    {
        let off = percent((ratio - 1.0).abs());
        verdicts.push((Fitness::Poor, Some(format!("{name}: timed twice, it differs from itself by {off}"))));
    }
    verdicts
}

fn half_width(kernel: &KernelNoise) -> Option<f64> {
    kernel.ratio_interval.map(|(low, high)| (high - low) / 2.0)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(super) fn quiet(class: Class) -> KernelNoise {
        KernelNoise {
            class,
            kernel: "copy 1 MiB".to_owned(),
            seconds: 15e-6,
            within: Some(0.01),
            between: Some(0.008),
            preempted: Some(0.012),
            companion: "itself".to_owned(),
            is_control: true,
            ratio: Some(1.0004),
            ratio_interval: Some((0.9995, 1.0013)),
            detectable_time: Some(0.03),
            detectable_ratio: Some(0.004),
        }
    }

    #[test]
    fn the_worst_figure_decides_and_says_why() {
        let check = |kernels: &[KernelNoise], expected: Fitness, reasons: &[&str]| {
            let found = fitness(Class::Cache, kernels);
            assert_eq!(
                (found.fitness, found.reasons),
                (expected, reasons.iter().map(|one| (*one).to_owned()).collect())
            );
        };
        let quiet = || quiet(Class::Cache);
        check(&[], Fitness::Unknown, &[]);
        check(&[super::tests::quiet(Class::Dram)], Fitness::Unknown, &[]);
        check(&[quiet()], Fitness::Good, &[]);
        let wide = KernelNoise { detectable_ratio: Some(0.031), ..quiet() };
        check(&[quiet(), wide.clone()], Fitness::Usable, &["copy 1 MiB: a change of its ratio shows from 3.1 % on"]);
        let wider = KernelNoise { detectable_ratio: Some(0.2), ..quiet() };
        check(&[wider], Fitness::Poor, &["copy 1 MiB: a change of its ratio shows from 20.0 % on"]);
        let preempted = KernelNoise { preempted: Some(0.3), ..quiet() };
        check(
            &[preempted],
            Fitness::Poor,
            &["copy 1 MiB: 30.0 % of its samples were interrupted, over the limit of 10.0 %"],
        );
        let off = KernelNoise { ratio: Some(1.02), ..quiet() };
        check(std::slice::from_ref(&off), Fitness::Poor, &["copy 1 MiB: timed twice, it differs from itself by 2.0 %"]);
        check(&[KernelNoise { is_control: false, ..off }], Fitness::Good, &[]);
        let few = KernelNoise { detectable_ratio: None, ratio_interval: None, ..quiet() };
        check(&[few], Fitness::Unknown, &["copy 1 MiB: too few processes for an interval"]);
    }

    #[test]
    fn figures_are_rounded_and_kept_apart() {
        let noise = Noise { processes: 5, kernels: vec![quiet(Class::Compute)], faults: vec!["x".to_owned()] };
        let findings = findings(&noise);
        assert_eq!(
            findings.classes.iter().map(|one| one.fitness.word()).collect::<Vec<_>>(),
            ["good", "unknown", "unknown"]
        );
        assert_eq!((findings.kernels[0].ratio, findings.kernels[0].preempted_share), (Some(1.0004), Some(0.012)));
        assert_eq!(findings.faults, ["x"]);
    }
}
