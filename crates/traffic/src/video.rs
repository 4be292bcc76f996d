//! A model of MPEG-1 video: groups of pictures of a fixed pattern of I, P and B frames, lognormal frame sizes around a mean for
//! each kind, and scenes whose level is lognormal too (after M. Krunz and H. Hughes, A traffic model for MPEG-coded VBR streams,
//! SIGMETRICS 1995: fixed pattern, lognormal sizes for each kind; scenes modulate them). No frame is above a peak.

use longhaul_units::{Duration, Random, Rate, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Mean sizes of I, P and B frames in proportion to each other.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FrameSizes {
    /// Frames coded for themselves.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub i: f64,
    /// Frames predicted from the one before.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub p: f64,
    /// Frames predicted from both sides.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub b: f64,
}

/// What a film looks like. The defaults stand for the MPEG-1 coding of *Star Wars* as it is commonly quoted: 24 frames a second,
/// 0.37 Mbit/s on average, no frame above 185 kbit.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct VideoModel {
    /// Frames a second.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1000))]
    pub frame_rate: f64,
    /// Mean rate before frames are cut at the peak, which takes about 1 % with the defaults.
    #[schemars(extend("x-exclusiveMinimum" = "0 bit/s", "x-maximum" = "1 Tbit/s"))]
    pub rate: Rate,
    /// The largest frame.
    pub peak_frame: Size,
    /// The group of pictures: letters I, P and B.
    pub pattern: String,
    /// Mean sizes of the kinds of frames in proportion to each other; their common factor does not matter.
    pub sizes: FrameSizes,
    /// Coefficient of variation of a frame's size within its scene.
    #[schemars(extend("minimum" = 0, "maximum" = 10))]
    pub frame_variation: f64,
    /// Coefficient of variation of the scenes' levels.
    #[schemars(extend("minimum" = 0, "maximum" = 10))]
    pub scene_variation: f64,
    /// Mean length of a scene; lengths are exponential, in whole groups of pictures.
    pub scene: Duration,
    /// Film that has arrived before the player shows it, at the beginning and after it stood still. The default is what was
    /// found with YouTube (Hossfeld et al. 2011).
    pub buffer: Duration,
    /// Each frame is filled up to whole segments, as with ns-2's one-way TCP.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub whole_packets: bool,
}

impl Default for VideoModel {
    fn default() -> Self {
        VideoModel {
            frame_rate: 24.0,
            rate: Rate::from_bps(370_000),
            peak_frame: Size::from_bytes(23_125),
            pattern: "IBBPBBPBBPBB".to_string(),
            sizes: FrameSizes { i: 5.0, p: 3.0, b: 1.0 },
            frame_variation: 0.4,
            scene_variation: 0.5,
            scene: Duration::from_secs(5),
            buffer: Duration::from_secs(2),
            whole_packets: false,
        }
    }
}

impl VideoModel {
    /// Whether it makes sense.
    ///
    /// # Errors
    /// The setting, and what would be right.
    pub fn check(&self) -> Result<(), (&'static str, &'static str)> {
        if self.pattern.is_empty() || !self.pattern.chars().all(|kind| matches!(kind, 'I' | 'P' | 'B')) {
            return Err((
                "pattern",
                "a group of pictures is written with I, P and B, as in \"IBBPBBPBBPBB\"",
            ));
        }
        if (self.peak_frame.as_bytes() as f64) < self.mean_frame() {
            return Err(("peak_frame", "the largest frame is not below the mean, rate over frame_rate"));
        }
        Ok(())
    }

    /// Time between two frames.
    pub fn frame_time(&self) -> Duration {
        Duration::from_secs_f64(1.0 / self.frame_rate)
    }

    /// Mean size of a frame in bytes, before the peak cuts.
    fn mean_frame(&self) -> f64 {
        self.rate.as_bps() as f64 / 8.0 / self.frame_rate
    }
}

/// Mean 1 and this coefficient of variation: exp(N(-s^2/2, s^2)) with s^2 = ln(1 + cv^2).
fn lognormal(random: &mut Random, variation: f64) -> f64 {
    let variance = libm::log1p(variation * variation);
    // Box and Muller (1958).
    let radius = libm::sqrt(2.0 * random.exponential(1.0));
    let normal = radius * libm::cos(std::f64::consts::TAU * random.uniform());
    libm::exp(libm::sqrt(variance) * normal - variance / 2.0)
}

/// A film: frame after frame without end, from a random frame of its pattern on.
#[derive(Clone, Debug)]
pub struct Film {
    model: VideoModel,
    random: Random,
    /// Mean size of each frame of the pattern in bytes.
    means: Vec<f64>,
    /// Which frame of the pattern is next.
    frame: usize,
    /// Level of the scene, 1 on average.
    level: f64,
    /// Groups of pictures that are left of the scene.
    groups: u64,
}

impl Film {
    /// A film of this model.
    pub fn new(model: &VideoModel, mut random: Random) -> Self {
        let FrameSizes { i, p, b } = model.sizes;
        let share = |kind| match kind {
            'I' => i,
            'P' => p,
            _ => b,
        };
        let shares: Vec<f64> = model.pattern.chars().map(share).collect();
        let unit = model.mean_frame() * shares.len() as f64 / shares.iter().sum::<f64>();
        let means: Vec<f64> = shares.iter().map(|share| share * unit).collect();
        let frame = random.up_to(means.len() as u64 - 1) as usize;
        let mut film = Film { model: model.clone(), random, means, frame, level: 1.0, groups: 0 };
        film.next_scene();
        film
    }

    fn next_scene(&mut self) {
        self.level = lognormal(&mut self.random, self.model.scene_variation);
        let group = self.model.frame_time().as_secs_f64() * self.means.len() as f64;
        self.groups = (self.random.exponential(self.model.scene.as_secs_f64()) / group) as u64 + 1;
    }

    /// Bytes of the next frame, at least 1.
    pub fn next_frame(&mut self) -> u64 {
        if self.frame == self.means.len() {
            self.frame = 0;
            self.groups -= 1;
            if self.groups == 0 {
                self.next_scene();
            }
        }
        let size =
            self.means[self.frame] * self.level * lognormal(&mut self.random, self.model.frame_variation);
        self.frame += 1;
        (size as u64).clamp(1, self.model.peak_frame.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_units::ranges::{Key, out_of_range};

    fn films(model: &VideoModel, frames: usize) -> Vec<Vec<u64>> {
        let film = |number| {
            let mut film = Film::new(model, Random::stream(1, &format!("film[{number}]")));
            (0..frames).map(|_| film.next_frame()).collect()
        };
        (0..40).map(film).collect()
    }

    fn mean(sizes: impl Iterator<Item = u64> + Clone) -> f64 {
        sizes.clone().sum::<u64>() as f64 / sizes.count() as f64
    }

    /// 0.37 Mbit/s at 24 frames a second are 1927 B a frame; the peak is 185 kbit, 23,125 B.
    #[test]
    fn mean_and_peak_are_those_of_the_film() {
        let films = films(&VideoModel::default(), 24_000);
        let all = films.iter().flatten().copied();
        let found = mean(all.clone());
        assert!((found / 1927.0 - 1.0).abs() < 0.03, "a mean frame of {found} B");
        let most = all.max().unwrap();
        assert!(most <= 23_125 && most > 15_000, "the largest frame has {most} B");
    }

    #[test]
    fn kinds_of_frames_have_their_sizes_and_scenes_hold_together() {
        // One group of three frames; nothing varies within a scene.
        let model = VideoModel {
            pattern: "IPB".to_string(),
            frame_variation: 0.0,
            scene_variation: 0.5,
            peak_frame: Size::from_bytes(1_000_000),
            ..VideoModel::default()
        };
        let mut film = Film::new(&model, Random::stream(3, "film"));
        film.frame = 0;
        for _ in 0..500 {
            let [i, p, b] = [film.next_frame(), film.next_frame(), film.next_frame()].map(|size| size as f64);
            assert!((i / b - 5.0).abs() < 0.05 && (p / b - 3.0).abs() < 0.05, "{i} {p} {b}");
        }
    }

    /// exp(s N - s^2/2) with cv 0.5: s^2 = ln 1.25 = 0.22314; P(x > 2) = Q((ln 2 + s^2/2) / s) = Q(1.7035) = 0.0442.
    #[test]
    fn levels_are_lognormal() {
        let mut random = Random::stream(5, "levels");
        let levels: Vec<f64> = (0..100_000).map(|_| lognormal(&mut random, 0.5)).collect();
        let mean = levels.iter().sum::<f64>() / 1e5;
        let above = levels.iter().filter(|level| **level > 2.0).count() as f64 / 1e5;
        assert!((mean - 1.0).abs() < 0.0064, "four standard errors: {mean}");
        assert!((above - 0.0442).abs() < 0.0026, "four standard errors: {above}");
    }

    #[test]
    fn films_differ_and_come_again() {
        let films = films(&VideoModel::default(), 100);
        assert_ne!(films[0], films[1]);
        let mut again = Film::new(&VideoModel::default(), Random::stream(1, "film[1]"));
        assert_eq!(films[1], (0..100).map(|_| again.next_frame()).collect::<Vec<_>>());
    }

    #[test]
    fn nonsense_is_refused() {
        let refused = |change: fn(&mut VideoModel)| {
            let mut model = VideoModel::default();
            change(&mut model);
            match out_of_range(&model).first().map(|found| found.place[0]) {
                Some(Key::Field(field)) => field,
                _ => model.check().unwrap_err().0,
            }
        };
        assert_eq!(out_of_range(&VideoModel::default()), []);
        assert!(VideoModel::default().check().is_ok());
        assert_eq!(refused(|m| m.frame_rate = 0.0), "frame_rate");
        assert_eq!(refused(|m| m.frame_rate = f64::NAN), "frame_rate");
        assert_eq!(refused(|m| m.rate = Rate::ZERO), "rate");
        assert_eq!(refused(|m| m.pattern = "IBBX".to_string()), "pattern");
        assert_eq!(refused(|m| m.sizes.b = -1.0), "sizes");
        assert_eq!(refused(|m| m.scene_variation = -0.1), "scene_variation");
        assert_eq!(refused(|m| m.peak_frame = Size::from_bytes(1900)), "peak_frame");
    }
}
