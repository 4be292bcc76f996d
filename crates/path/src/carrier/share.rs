//! Division of a capacity by weights.

/// Divides `capacity` among those that want something: each gets what it wants, or its part by weight of what those who want more leave
/// (max-min fair, by weight). Never more in all than there is; parts are rounded down.
pub(super) fn fill(capacity: u64, wants: &[u64], weights: &[f64]) -> Vec<u64> {
    let mut given = vec![0; wants.len()];
    let mut open: Vec<usize> = (0..wants.len()).filter(|place| wants[*place] > 0).collect();
    let mut left = capacity;
    while !open.is_empty() && left > 0 {
        let total: f64 = open.iter().map(|place| weights[*place]).sum();
        let part = |place: usize| (left as f64 * (weights[place] / total)) as u64;
        let (content, others): (Vec<usize>, Vec<usize>) =
            open.iter().partition(|place| wants[**place] <= part(**place));
        if content.is_empty() {
            let mut rest = left;
            for place in others {
                // Rounding of large numbers must not add up to more than there is.
                given[place] = part(place).min(rest);
                rest -= given[place];
            }
            break;
        }
        let taken: u64 = content.iter().map(|place| wants[*place]).sum();
        content.into_iter().for_each(|place| given[place] = wants[place]);
        left -= taken.min(left);
        open = others;
    }
    given
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_wishes_are_met_and_the_rest_is_divided_by_weight() {
        assert_eq!(fill(100, &[10, 500, 500], &[1.0, 1.0, 1.0]), [10, 45, 45]);
        assert_eq!(fill(100, &[500, 500], &[1.0, 3.0]), [25, 75]);
        assert_eq!(fill(100, &[20, 30], &[1.0, 1.0]), [20, 30]);
        assert_eq!(fill(100, &[0, 7], &[1.0, 1.0]), [0, 7]);
        assert_eq!(fill(100, &[], &[]), Vec::<u64>::new());
    }

    proptest! {
        #[test]
        fn never_more_than_there_is_nor_than_is_wanted(
            capacity in 0u64..10_000_000_000,
            all in prop::collection::vec((0u64..20_000_000_000, 0.001f64..1000.0), 0..20),
        ) {
            let (wants, weights): (Vec<u64>, Vec<f64>) = all.into_iter().unzip();
            let given = fill(capacity, &wants, &weights);
            let sum: u64 = given.iter().sum();
            prop_assert!(sum <= capacity);
            prop_assert!(given.iter().zip(&wants).all(|(given, want)| given <= want));
            // Nothing is left that somebody wants, but for rounding.
            let missing = wants.iter().zip(&given).any(|(want, given)| want > given);
            prop_assert!(!missing || capacity - sum <= 2 * wants.len() as u64 + 2);
        }
    }
}
