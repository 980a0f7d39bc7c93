//! The stream's way to the aggregators: checkpoints, batches, and what a batch's answer does to them.

use std::collections::BTreeSet;
use std::time::Duration;

use limiter_aggregator::aggregate::{Aggregator, BatchOutcome, Budget};
use limiter_aggregator::config::Settings;
use limiter_aggregator::units::EpochMillis;
use limiter_aggregator::write::Action;

use super::World;
use super::actor::Actor;
use crate::audit::{Verdict, require};
use crate::client::shard_key;
use crate::port::{Call, StepTable};
use crate::step::Delivery;

/// One aggregator's place in the stream.
pub struct Reader {
    /// The first record that is not yet done.
    pub checkpoint: usize,
    pub skew: i64,
}

impl World {
    pub(super) fn aggregator(number: u8) -> u8 {
        Self::OPERATOR + 1 + number
    }

    /// Whether an actor is an aggregator.
    pub fn is_aggregator(actor: u8) -> bool {
        actor > Self::OPERATOR
    }

    /// Whether an aggregator is about to double the count, or to raise a shard and freeze the size of its grant.
    pub fn is_growing(&self) -> bool {
        self.batches().any(|(actor, _)| self.grows(*actor))
    }

    /// Whether this actor is.
    pub fn grows(&self, actor: u8) -> bool {
        self.awaits(actor, |call| doubles(call) || freezes(call))
    }

    /// Whether an aggregator has made shards and not yet read the count again.
    pub fn is_repairing(&self) -> bool {
        self.batches().any(|(_, batch)| !batch.unrepaired.is_empty())
    }

    /// The aggregator that is about to raise a shard that it made, because the count has risen meanwhile.
    pub fn repairer(&self) -> Option<u8> {
        let repairs = |(actor, batch): (&u8, &Actor)| (batch.read_again && self.grows(*actor)).then_some(*actor);
        self.batches().find_map(repairs)
    }

    fn batches(&self) -> impl Iterator<Item = (&u8, &Actor)> {
        self.actors.iter().filter(|(actor, _)| Self::is_aggregator(**actor))
    }

    /// Whether an actor is about to read.
    pub fn is_reading(&self, actor: u8) -> bool {
        self.awaits(actor, |call| matches!(call, Call::Read(_)))
    }

    /// Whether an actor waits for a call of this kind.
    fn awaits(&self, actor: u8, wanted: impl Fn(&Call) -> bool) -> bool {
        let own = self.actors.get(&actor);
        own.is_some_and(|own| own.table.is_waiting_for(wanted))
    }

    /// Whether a rise of the count is still on its way to the first aggregator, or in its hands.
    pub fn is_rising(&self) -> bool {
        self.last_rise.is_some_and(|place| place >= self.readers[0].checkpoint)
    }

    pub(super) fn deliver(&mut self, number: u8, delivery: Delivery) -> Verdict {
        let actor = Self::aggregator(number);
        let Some(reader) = self
            .readers
            .get(usize::from(number))
            .filter(|_| !self.actors.contains_key(&actor))
        else {
            return Ok(());
        };
        let first = match delivery {
            Delivery::Rewound(back, _) => reader.checkpoint.saturating_sub(back.into()),
            Delivery::Next(_) | Delivery::Shuffled(_) | Delivery::Late(_) => reader.checkpoint,
        };
        let (Delivery::Next(most) | Delivery::Rewound(_, most) | Delivery::Shuffled(most) | Delivery::Late(most)) =
            delivery;
        let mut records: Vec<usize> = (first..self.log.len().min(first + usize::from(most))).collect();
        if records.is_empty() {
            return Ok(());
        }
        match delivery {
            Delivery::Next(_) => {}
            Delivery::Late(_) => self.coverage.count("fault: no time left"),
            Delivery::Rewound(..) => self.coverage.count("fault: rewound delivery"),
            Delivery::Shuffled(_) => {
                self.coverage.count("fault: shuffled delivery");
                records.reverse();
                let half: Vec<usize> = records.iter().copied().step_by(2).collect();
                records.extend(half);
            }
        }
        let (now, table) = (self.now + reader.skew, StepTable::default());
        let event = self.event(&records);
        let (aggregator, observer) = (
            Aggregator::new(table.clone(), Settings::default()),
            self.coverage.clone(),
        );
        let late = matches!(delivery, Delivery::Late(_));
        let work = Box::pin(async move {
            let budget = match late {
                true => Budget::from_remaining(Duration::ZERO),
                false => Budget::unlimited(),
            };
            let outcome = aggregator.handle(&event, EpochMillis(now), &budget, &observer).await;
            outcome.unwrap_or(BatchOutcome::RetryAll)
        });
        let mut batch = Actor::batch(table, now, records, work);
        // What it leaves undone for want of time is reported, as after a failed call.
        batch.fault = late;
        self.actors.insert(actor, batch);
        self.poll(actor)
    }

    fn event(&self, records: &[usize]) -> String {
        let mut event = String::from("{\"Records\":[");
        for (place, record) in records.iter().enumerate() {
            if place > 0 {
                event.push(',');
            }
            event.push_str(&self.log[*record].json);
        }
        event.push_str("]}");
        event
    }

    /// Moves the checkpoint as the answer wants.
    pub(super) fn delivered(&mut self, actor: u8, batch: &Actor, outcome: &BatchOutcome) -> Verdict {
        let unrepaired = &batch.unrepaired;
        require(
            unrepaired.is_empty() || batch.fault,
            "shard 0's count is read again after creations",
            || format!("at {}: {unrepaired:?}", batch.now),
        )?;
        require(self.coverage.of("panicked") == 0, "nothing panics", || {
            format!("at {}", batch.now)
        })?;
        let known: BTreeSet<usize> = batch.records.iter().copied().collect();
        let last = known.last().copied().unwrap_or(0);
        let number = usize::from(actor - Self::aggregator(0));
        let Some(reader) = self.readers.get_mut(number) else {
            return Ok(());
        };
        match outcome {
            BatchOutcome::Complete => reader.checkpoint = reader.checkpoint.max(last + 1),
            BatchOutcome::RetryAll => self.coverage.count("batch failed whole"),
            BatchOutcome::RetryFrom(sequence) => {
                self.coverage.count("batch reported a record");
                let place = known
                    .iter()
                    .find(|place| self.log[**place].record.sequence == sequence.as_str());
                require(place.is_some(), "what is reported was delivered", || {
                    format!("at {}", batch.now)
                })?;
                require(batch.fault, "nothing is reported without a failed call", || {
                    format!("at {}", batch.now)
                })?;
                reader.checkpoint = place.copied().unwrap_or(reader.checkpoint);
            }
        }
        Ok(())
    }

    pub(super) fn lose(&mut self, number: u8, records: u8) -> Verdict {
        let busy = self.actors.contains_key(&Self::aggregator(number));
        let Some(reader) = self.readers.get_mut(usize::from(number)).filter(|_| !busy) else {
            return Ok(());
        };
        let left = self.log.len() - reader.checkpoint;
        let lost = left.min(records.into());
        reader.checkpoint += lost;
        self.passed_over |= lost > 0;
        if lost > 0 && number == 0 {
            self.lost = true;
            self.coverage.count("fault: lost delivery");
        }
        Ok(())
    }
}

fn doubles(call: &Call) -> bool {
    matches!(call, Call::Update(update) if update.actions.len() == 1 && update.key == shard_key(0))
}

fn freezes(call: &Call) -> bool {
    let raises = |action: &Action| action.attribute() == "shard_count";
    matches!(call, Call::Update(update) if update.actions.len() > 1 && update.actions.iter().any(raises))
}
