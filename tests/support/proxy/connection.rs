//! One connection from the SDK: reads requests, asks the script, acts its answer out.

use std::io;
use std::sync::Arc;

use tokio::net::TcpStream;

use super::answer::Answer;
use super::message::{Message, Wire};
use super::script::Step;
use super::{Shared, keep_back};

/// How a connection goes on after a request.
enum Next {
    Stay,
    Close,
    Reset,
}

/// Serves the connection until either side ends it. Errors are how connections end here, hence ignored.
pub(super) async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let _ended = Connection { shared, engine: None }.run(stream).await;
}

struct Connection {
    shared: Arc<Shared>,
    engine: Option<Wire>,
}

impl Connection {
    async fn run(mut self, stream: TcpStream) -> io::Result<()> {
        let mut client = Wire::new(stream)?;
        let mut closing = self.shared.closing.subscribe();
        loop {
            // A connection is idle until the first byte of a request has come.
            let begun = tokio::select! {
                begun = client.begun() => begun?,
                _ = closing.changed() => false,
            };
            if !begun {
                return Ok(());
            }
            let request = client.read().await?;
            match self.act(&mut client, &request).await? {
                Next::Stay => closing.mark_unchanged(),
                Next::Close => return Ok(()),
                Next::Reset => return client.reset(),
            }
        }
    }

    async fn act(&mut self, client: &mut Wire, request: &Message) -> io::Result<Next> {
        let operation = request.operation();
        match self.shared.decide(operation, request) {
            Step::Pass => self.pass(client, operation, request).await?,
            Step::Answer(answer) => client.write(&response(&answer)).await?,
            Step::AnswerAfter(answer) => {
                self.forward(operation, request).await?;
                client.write(&response(&answer)).await?;
            }
            Step::Delay(time) => {
                tokio::time::sleep(time).await;
                self.pass(client, operation, request).await?;
            }
            Step::Stall => client.gone().await,
            Step::StallAfter => {
                self.forward(operation, request).await?;
                client.gone().await;
            }
            Step::ResetBefore => return Ok(Next::Reset),
            Step::ResetAfter => {
                self.forward(operation, request).await?;
                return Ok(Next::Reset);
            }
            Step::CloseBefore => return Ok(Next::Close),
            Step::PassThenClose => {
                self.pass(client, operation, request).await?;
                return Ok(Next::Close);
            }
            Step::KeepBack(count) => self.keep_back(client, operation, request, count).await?,
        }
        Ok(Next::Stay)
    }

    async fn pass(&mut self, client: &mut Wire, operation: &str, request: &Message) -> io::Result<()> {
        let answer = self.forward(operation, request).await?;
        client.write(&answer).await
    }

    async fn keep_back(
        &mut self,
        client: &mut Wire,
        operation: &str,
        request: &Message,
        count: usize,
    ) -> io::Result<()> {
        let split = keep_back::split(operation, &request.body, count);
        let Some(remaining) = &split.forwarded else {
            return client.write(&response(&Answer::success(split.answer_alone()))).await;
        };
        let answer = self
            .forward(operation, &request.with_body(remaining.to_string().into_bytes()))
            .await?;
        let succeeded = answer.head.starts_with("HTTP/1.1 200");
        let answer = if succeeded {
            answer.with_body(split.add_to(&answer.body))
        } else {
            answer
        };
        client.write(&answer).await
    }

    /// Lets the engine answer, over one connection of its own for each connection of the SDK.
    async fn forward(&mut self, operation: &str, request: &Message) -> io::Result<Message> {
        let mut engine = match self.engine.take() {
            Some(engine) => engine,
            None => Wire::new(TcpStream::connect(self.shared.engine).await?)?,
        };
        engine.write(request).await?;
        let answer = engine.read().await?;
        self.engine = Some(engine);
        self.shared.forwarded(operation);
        Ok(answer)
    }
}

fn response(answer: &Answer) -> Message {
    let head = format!(
        "HTTP/1.1 {} scripted\r\ncontent-type: {}\r\nx-amzn-requestid: scripted\r\ncontent-length: {}\r\n\r\n",
        answer.status,
        answer.content_type,
        answer.body.len()
    );
    Message {
        head,
        body: answer.body.clone(),
    }
}
