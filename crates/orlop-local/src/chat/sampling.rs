//! Chooses the next token.

use std::hash::{BuildHasher, Hasher};

/// How the next token is chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampling {
    /// 0 takes the likeliest token always; larger numbers spread the choice.
    pub temperature: f32,
    /// Only this many of the likeliest tokens; 0 for all.
    pub top_k: usize,
    /// Only the likeliest tokens that together have this probability.
    pub top_p: f32,
    /// Only tokens with this share of the probability of the likeliest one.
    pub min_p: f32,
    /// Makes tokens of the recent answer less likely; 1 changes nothing. Not used for answers that
    /// follow a schema.
    pub repeat_penalty: f32,
    /// The same seed gives the same answer to the same request.
    pub seed: Option<u64>,
}

/// Recent tokens that the repeat penalty looks at.
const RECENT: usize = 64;

impl Default for Sampling {
    fn default() -> Self {
        Self {
            temperature: 0.2,
            top_k: 40,
            top_p: 0.9,
            min_p: 0.05,
            repeat_penalty: 1.1,
            seed: None,
        }
    }
}

impl Sampling {
    /// Always the likeliest token.
    pub fn greedy() -> Self {
        Self { temperature: 0.0, repeat_penalty: 1.0, ..Self::default() }
    }
}

/// Chooses tokens, with chance where it is asked for.
pub(super) struct Sampler {
    rules: Sampling,
    chance: Chance,
    candidates: Vec<(f32, u32)>,
}

impl Sampler {
    pub(super) fn new(rules: &Sampling) -> Self {
        let seed = rules.seed.unwrap_or_else(|| {
            // The standard library draws its keys from the system.
            std::collections::hash_map::RandomState::new().build_hasher().finish()
        });
        Self { rules: rules.clone(), chance: Chance(seed), candidates: Vec::new() }
    }

    /// Makes what was written lately less likely.
    pub(super) fn penalise(&self, logits: &mut [f32], written: &[u32]) {
        let penalty = self.rules.repeat_penalty;
        if penalty == 1.0 || penalty <= 0.0 {
            return;
        }
        let mut recent = written[written.len().saturating_sub(RECENT)..].to_vec();
        recent.sort_unstable();
        recent.dedup();
        for token in recent {
            if let Some(logit) = logits.get_mut(token as usize) {
                *logit = if *logit > 0.0 { *logit / penalty } else { *logit * penalty };
            }
        }
    }

    /// The next token; nothing if none is allowed. Forbidden ones are at negative infinity.
    pub(super) fn choose(&mut self, logits: &[f32]) -> Option<u32> {
        if self.rules.temperature <= 0.0 || !self.rules.temperature.is_finite() {
            return likeliest(logits);
        }
        self.collect(logits);
        self.weigh();
        self.cut();
        self.draw()
    }

    /// The candidates, likeliest first.
    fn collect(&mut self, logits: &[f32]) {
        let all = (0..).zip(logits).map(|(token, logit)| (*logit, token));
        self.candidates.clear();
        self.candidates.extend(all.filter(|(logit, _)| logit.is_finite()));
        let likelier = |a: &(f32, u32), b: &(f32, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        let keep = match self.rules.top_k {
            0 => self.candidates.len(),
            count => count.min(self.candidates.len()),
        };
        if keep < self.candidates.len() {
            self.candidates.select_nth_unstable_by(keep, likelier);
            self.candidates.truncate(keep);
        }
        self.candidates.sort_unstable_by(likelier);
    }

    /// Logits to probabilities.
    fn weigh(&mut self) {
        let Some((first, _)) = self.candidates.first().copied() else { return };
        let mut sum = 0.0;
        for (weight, _) in &mut self.candidates {
            *weight = ((*weight - first) / self.rules.temperature).exp();
            sum += *weight;
        }
        for (weight, _) in &mut self.candidates {
            *weight /= sum;
        }
    }

    /// Drops unlikely candidates; the likeliest stays in any case.
    fn cut(&mut self) {
        let Some((first, _)) = self.candidates.first().copied() else { return };
        let mut sum = 0.0;
        let kept = self.candidates.iter().take_while(|(weight, _)| {
            let keep = sum < self.rules.top_p && *weight >= first * self.rules.min_p;
            sum += weight;
            keep
        });
        let kept = kept.count().max(1);
        self.candidates.truncate(kept);
    }

    fn draw(&mut self) -> Option<u32> {
        let sum: f32 = self.candidates.iter().map(|(weight, _)| weight).sum();
        let mut point = self.chance.next() * sum;
        for (weight, token) in &self.candidates {
            point -= weight;
            if point < 0.0 {
                return Some(*token);
            }
        }
        self.candidates.last().map(|(_, token)| *token)
    }
}

/// The largest number; the first of several. Nothing if none is finite.
pub(super) fn likeliest(logits: &[f32]) -> Option<u32> {
    let mut best = None;
    for (token, logit) in (0..).zip(logits) {
        if logit.is_finite() && best.is_none_or(|(largest, _)| *logit > largest) {
            best = Some((*logit, token));
        }
    }
    best.map(|(_, token)| token)
}

/// SplitMix64: small, and good enough to draw tokens.
struct Chance(u64);

impl Chance {
    /// Between 0 and 1, without 1.
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 40) as f32 / (1u64 << 24) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOGITS: [f32; 5] = [1.0, 3.0, 2.0, f32::NEG_INFINITY, -1.0];

    /// Which tokens come out of a thousand draws.
    fn drawn(rules: Sampling) -> Vec<u32> {
        let mut sampler = Sampler::new(&Sampling { seed: Some(7), ..rules });
        let mut tokens: Vec<_> = (0..1000).filter_map(|_| sampler.choose(&LOGITS)).collect();
        tokens.sort_unstable();
        tokens.dedup();
        tokens
    }

    fn open() -> Sampling {
        Sampling { temperature: 1.0, top_k: 0, top_p: 1.0, min_p: 0.0, ..Sampling::default() }
    }

    #[test]
    fn each_rule_narrows_the_choice() {
        assert_eq!(drawn(open()), [0, 1, 2, 4]);
        assert_eq!(drawn(Sampling::greedy()), [1]);
        assert_eq!(drawn(Sampling { top_k: 2, ..open() }), [1, 2]);
        // The probabilities are 0.66, 0.24, 0.09 and 0.01.
        assert_eq!(drawn(Sampling { top_p: 0.8, ..open() }), [1, 2]);
        assert_eq!(drawn(Sampling { top_p: 0.0, ..open() }), [1]);
        assert_eq!(drawn(Sampling { min_p: 0.1, ..open() }), [0, 1, 2]);
    }

    #[test]
    fn a_seed_repeats_the_choice_and_a_temperature_follows_probability() {
        let count = |temperature| {
            let rules = Sampling { temperature, seed: Some(1), ..open() };
            let mut sampler = Sampler::new(&rules);
            (0..40_000).filter(|_| sampler.choose(&LOGITS) == Some(1)).count()
        };
        assert_eq!(count(1.0), count(1.0));
        // e^3 of e^3 + e^2 + e^1 + e^-1 is 0.657.
        assert!((25_900..26_700).contains(&count(1.0)), "{}", count(1.0));
        assert!(count(0.2) > 39_500);
    }

    #[test]
    fn nothing_allowed_is_nothing_chosen() {
        let none = [f32::NEG_INFINITY, f32::NAN];
        assert_eq!(Sampler::new(&open()).choose(&none), None);
        assert_eq!(likeliest(&none), None);
    }

    #[test]
    fn the_penalty_pushes_down_on_both_sides_of_zero() {
        let sampler = Sampler::new(&Sampling { repeat_penalty: 2.0, ..open() });
        let mut logits = [4.0, -4.0, 4.0];
        sampler.penalise(&mut logits, &[0, 1, 1, 9]);
        assert_eq!(logits, [2.0, -8.0, 4.0]);
    }
}
