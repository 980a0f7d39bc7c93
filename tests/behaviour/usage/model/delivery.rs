//! The delivery of a story: clean, or with everything that can go wrong.

use std::cell::RefCell;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use limiter_aggregator::aggregate::{Aggregator, BatchOutcome, Budget};
use limiter_aggregator::config::{Settings, UsageSettings};
use limiter_aggregator::table::FaultClass;
use limiter_aggregator::table::memory::MemoryTable;
use limiter_aggregator::units::EpochMillis;
use limiter_aggregator::write::Update;

use super::super::hostile::{Fate, Hostile, fault};
use super::super::records::{Change, event};
use super::super::seen::Seen;
use super::oracle::{Counters, counted};
use super::rng::Rng;
use super::story::{Story, StreamShard};

const NOW: EpochMillis = EpochMillis(1_796_200_000_000);
/// Deliveries after which nothing goes wrong any more, so that a history ends.
const HOSTILE_STEPS: usize = 12;
/// Deliveries that no history needs.
const TOO_MANY_STEPS: usize = 400;

/// How a story is delivered.
pub enum Way {
    /// Each stream shard in one batch.
    Clean,
    /// As these numbers say.
    Hostile(Rng),
}

impl Way {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Hostile(_) => "hostile",
        }
    }
}

/// What went wrong in deliveries.
#[derive(Clone, Debug, Default)]
pub struct Trouble {
    fates: [usize; 7],
    rewinds: usize,
    mixed: usize,
    given_up: usize,
    arrived_late: usize,
    replaced: usize,
    two_consumers: usize,
    left_out: [usize; 2],
}

impl Trouble {
    pub fn add(&mut self, other: &Self) {
        for (sum, more) in self.fates.iter_mut().zip(other.fates) {
            *sum += more;
        }
        self.rewinds += other.rewinds;
        self.mixed += other.mixed;
        self.given_up += other.given_up;
        self.arrived_late += other.arrived_late;
        self.replaced += other.replaced;
        self.two_consumers += other.two_consumers;
        self.left_out[0] += other.left_out[0];
        self.left_out[1] += other.left_out[1];
    }

    pub fn assert_all(&self) {
        let each = [
            self.rewinds,
            self.mixed,
            self.given_up,
            self.arrived_late,
            self.replaced,
            self.two_consumers,
        ];
        let all = each.iter().chain(&self.fates).chain(&self.left_out);
        assert!(all.clone().all(|count| *count > 10), "{self:?}");
    }
}

/// Delivers a story and gives the counters of every snapshot.
pub fn deliver(story: &Story, way: Way) -> Result<Counters, String> {
    let table = MemoryTable::new();
    match way {
        Way::Clean => Postman::new(story, &table, None).deliver_all()?,
        Way::Hostile(rng) => Postman::new(story, &table, Some(rng)).deliver_all()?,
    };
    Ok(counted(table.items().into_values()))
}

/// What goes wrong in a hostile delivery.
pub fn troubles(story: &Story, rng: Rng) -> Trouble {
    let table = MemoryTable::new();
    Postman::new(story, &table, Some(rng)).deliver_all().unwrap()
}

type Invocation<'p> = Pin<Box<dyn Future<Output = BatchOutcome> + 'p>>;
type Decide<'p> = Box<dyn FnMut(u32, &Update) -> Fate + 'p>;

/// One consumer's place on one stream shard.
struct Reader<'p> {
    shard: &'p StreamShard,
    position: usize,
}

struct Postman<'p> {
    story: &'p Story,
    table: &'p MemoryTable,
    /// `None` for a clean delivery.
    rng: Option<Rng>,
    /// Nothing goes wrong any more.
    is_calm: bool,
    /// Writes that have not arrived yet.
    late: Vec<Update>,
    trouble: Trouble,
}

impl Reader<'_> {
    /// Moves on as the answer to a batch wants; `None` is no answer.
    fn move_over(&mut self, batch: Range<usize>, outcome: Option<BatchOutcome>) -> Result<(), String> {
        self.position = match outcome {
            None => batch.start,
            Some(BatchOutcome::Complete) => batch.end,
            Some(BatchOutcome::RetryAll) => return Err("every record has a number".to_owned()),
            Some(BatchOutcome::RetryFrom(sequence)) => {
                let place = self
                    .shard
                    .iter()
                    .position(|change| change.sequence == sequence.as_str());
                place.ok_or("a record that was not delivered is asked for")?
            }
        };
        Ok(())
    }
}

impl<'p> Postman<'p> {
    fn new(story: &'p Story, table: &'p MemoryTable, rng: Option<Rng>) -> Self {
        let (late, trouble) = (Vec::new(), Trouble::default());
        Self {
            story,
            table,
            rng,
            is_calm: false,
            late,
            trouble,
        }
    }

    /// Numbers, as long as things go wrong.
    fn rng(&mut self) -> Option<&mut Rng> {
        self.rng.as_mut().filter(|_| !self.is_calm)
    }

    fn deliver_all(mut self) -> Result<Trouble, String> {
        let fates = RefCell::new((self.rng.clone(), [0; 7]));
        let hostile = Hostile::new(self.table, decide(&fates));
        let settings = Settings {
            usage: UsageSettings {
                windows: self.story.windows.clone(),
                ..UsageSettings::default()
            },
            enable_refill: false,
            enable_propagation: false,
            ..Settings::default()
        };
        let (aggregator, seen) = (Aggregator::new(&hostile, settings), Seen::default());
        let invocation = |records: Vec<&Change>| -> Invocation<'_> {
            let (event, aggregator, seen) = (event(records), &aggregator, &seen);
            Box::pin(async move {
                aggregator
                    .handle(&event, NOW, &Budget::unlimited(), seen)
                    .await
                    .unwrap()
            })
        };
        let (mut given_up, mut done) = (Vec::new(), Vec::new());
        for stream in &self.story.streams {
            self.trouble.replaced += usize::from(!done.is_empty());
            let mut readers = self.readers(stream);
            for step in 0.. {
                readers.retain(|reader| reader.position < reader.shard.len());
                if readers.is_empty() {
                    break;
                }
                if step > TOO_MANY_STEPS {
                    return Err("no end".to_owned());
                }
                self.is_calm = step > HOSTILE_STEPS;
                fates.borrow_mut().0 = self.rng().cloned();
                self.late.extend(hostile.take_late());
                self.stir(&mut given_up);
                if let Some(old) = self.old_batch(&done) {
                    // Nobody waits for the answer: that stream is gone.
                    self.invoke(invocation(old), &mut given_up);
                }
                let at = self.rng().map_or(0, |rng| rng.below(readers.len()));
                let (records, moved_over) = self.batch(&readers[at]);
                let outcome = self.invoke(invocation(records), &mut given_up);
                readers[at].move_over(moved_over, outcome)?;
            }
            done.extend(stream);
        }
        self.is_calm = true;
        while !given_up.is_empty() || !self.late.is_empty() {
            self.stir(&mut given_up);
            self.late.extend(hostile.take_late());
        }
        self.trouble.fates = fates.borrow().1;
        for snapshot in seen.snapshots.take() {
            self.trouble.left_out[0] += snapshot.repeats;
            self.trouble.left_out[1] += snapshot.beyond;
        }
        Ok(self.trouble)
    }

    /// Who reads a stream: one consumer, or two that both began at its beginning.
    fn readers(&mut self, stream: &'p [StreamShard]) -> Vec<Reader<'p>> {
        let second = self.rng().is_some_and(|rng| rng.chance(25));
        self.trouble.two_consumers += usize::from(second);
        let consumers = std::iter::repeat_n(stream, 1 + usize::from(second));
        consumers.flatten().map(|shard| Reader { shard, position: 0 }).collect()
    }

    /// The next batch of a stream shard, and the records that it moves over.
    fn batch(&mut self, reader: &Reader<'p>) -> (Vec<&'p Change>, Range<usize>) {
        let Reader { shard, position } = *reader;
        let Some(rng) = self.rng.as_mut().filter(|_| !self.is_calm) else {
            return (shard[position..].iter().collect(), position..shard.len());
        };
        let mut start = position;
        if position > 0 && rng.chance(15) {
            start = rng.below(position);
            self.trouble.rewinds += 1;
        }
        let end = (start + 1 + rng.below(6)).min(shard.len());
        let mut records: Vec<&Change> = shard[start..end].iter().collect();
        if rng.chance(25) {
            self.trouble.mixed += 1;
            let extra = 1 + rng.below(3);
            for _ in 0..extra {
                records.push(&shard[rng.below(end)]);
            }
            for place in (1..records.len()).rev() {
                records.swap(place, rng.below(place + 1));
            }
        }
        (records, start..end)
    }

    /// Runs an invocation. `None` when it stopped, or when the stream gave it up although it may go on.
    fn invoke<'a>(
        &mut self,
        mut invocation: Invocation<'a>,
        given_up: &mut Vec<Invocation<'a>>,
    ) -> Option<BatchOutcome> {
        // One that stopped is never ready: asking it more often than it can pause shows that.
        for _ in 0..100 {
            if let Poll::Ready(outcome) = ask(&mut invocation) {
                return Some(outcome);
            }
            if self.rng().is_some_and(|rng| rng.chance(30)) {
                self.trouble.given_up += 1;
                given_up.push(invocation);
                return None;
            }
        }
        None
    }

    /// Records of a stream that was replaced, delivered once more.
    fn old_batch<'r>(&mut self, done: &[&'r StreamShard]) -> Option<Vec<&'r Change>> {
        let rng = self.rng().filter(|_| !done.is_empty())?;
        let old = *rng.pick(done);
        (rng.chance(15) && !old.is_empty()).then(|| old[rng.below(old.len())..].iter().collect())
    }

    /// Lets some of what was given up go on, and some late writes arrive.
    fn stir(&mut self, given_up: &mut Vec<Invocation<'_>>) {
        let Self {
            rng, table, is_calm, ..
        } = self;
        let mut happens = |percent| *is_calm || rng.as_mut().is_none_or(|rng| rng.chance(percent));
        let (arrived, waiting): (Vec<_>, Vec<_>) = self.late.drain(..).partition(|_| happens(30));
        for update in &arrived {
            self.trouble.arrived_late += 1;
            // Nobody waits for the answer.
            let _ = table.apply_update(update);
        }
        self.late = waiting;
        let mut waiting = Vec::new();
        for mut invocation in given_up.drain(..) {
            let is_over = happens(50) && ask(&mut invocation).is_ready();
            let is_lost = happens(10);
            if !is_over && !is_lost {
                waiting.push(invocation);
            }
        }
        *given_up = waiting;
    }
}

fn ask(invocation: &mut Invocation<'_>) -> Poll<BatchOutcome> {
    invocation.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

/// Decides about each update. Without numbers, or once they are taken away, everything passes.
fn decide<'f>(fates: &'f RefCell<(Option<Rng>, [usize; 7])>) -> Decide<'f> {
    let hostility = fates.borrow_mut().0.as_mut().map_or(0, |rng| 10 * rng.below(6));
    Box::new(move |_, _| {
        let (rng, counts) = &mut *fates.borrow_mut();
        let Some(rng) = rng.as_mut().filter(|_| hostility > 0) else {
            return Fate::Pass;
        };
        if !rng.chance(hostility) {
            return Fate::Pass;
        }
        let kind = rng.below(counts.len());
        counts[kind] += 1;
        match kind {
            0 => Fate::Answer(Err(fault(FaultClass::Retryable))),
            1 => Fate::LoseAnswer,
            2 => Fate::SentTwice,
            3 => Fate::StopBefore,
            4 => Fate::StopAfter,
            5 => Fate::Pause,
            _ => Fate::Late,
        }
    })
}
