//! Random numbers that are the same on every machine: SplitMix64.

#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The numbers of one history.
    pub fn of(history: u64) -> Self {
        Self(history.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(0x5851_f42d))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0, less than `bound`, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(bound).unwrap()).unwrap()
    }

    /// True so many times in a hundred.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of these.
    pub fn pick<'s, T>(&mut self, of: &'s [T]) -> &'s T {
        &of[self.below(of.len())]
    }
}
