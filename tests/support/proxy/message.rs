//! HTTP/1.1 messages as bytes. Only what the SDK and the engine send: a head, and a body of a stated length.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A request or a response.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    /// First line and headers, the empty line included.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Message {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.split("\r\n").skip(1);
        let mut headers = lines.filter_map(|line| line.split_once(':'));
        headers
            .find(|(found, _)| found.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim())
    }

    /// The operation: DynamoDB's from the header that names it, S3's from the word that the SDK adds to the query.
    pub(crate) fn operation(&self) -> &str {
        let (_, query) = self.target().split_once('?').unwrap_or_default();
        let named = query.split('&').find_map(|part| part.strip_prefix("x-id="));
        let target = self.header("x-amz-target");
        let of_target = target.map(|target| target.rsplit('.').next().unwrap_or_default());
        of_target.or(named).unwrap_or_default()
    }

    /// The path without its query.
    pub(crate) fn path(&self) -> &str {
        self.target().split('?').next().unwrap_or_default()
    }

    fn target(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or_default()
    }

    /// The same head with another body: other length, and no checksum of the body that is gone.
    pub(crate) fn with_body(&self, body: Vec<u8>) -> Self {
        let stale = |line: &str| {
            let name = line.split(':').next().unwrap_or_default();
            name.eq_ignore_ascii_case("content-length") || name.eq_ignore_ascii_case("x-amz-crc32")
        };
        let kept: Vec<_> = self.head.trim_end().split("\r\n").filter(|line| !stale(line)).collect();
        Self {
            head: format!("{}\r\ncontent-length: {}\r\n\r\n", kept.join("\r\n"), body.len()),
            body,
        }
    }
}

/// A connection, and what was read from it beyond the last message.
pub(crate) struct Wire {
    stream: TcpStream,
    unread: Vec<u8>,
}

impl Wire {
    pub(crate) fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            unread: Vec::new(),
        })
    }

    /// Waits for the first byte of a message; false once the other side has closed.
    pub(crate) async fn begun(&mut self) -> io::Result<bool> {
        Ok(!self.unread.is_empty() || self.fill().await? > 0)
    }

    async fn fill(&mut self) -> io::Result<usize> {
        self.unread.reserve(16 * 1024);
        self.stream.read_buf(&mut self.unread).await
    }

    async fn fill_more(&mut self) -> io::Result<()> {
        if self.fill().await? == 0 {
            Err(io::ErrorKind::UnexpectedEof.into())
        } else {
            Ok(())
        }
    }

    pub(crate) async fn read(&mut self) -> io::Result<Message> {
        let head_length = loop {
            if let Some(place) = self.unread.windows(4).position(|window| window == b"\r\n\r\n") {
                break place + 4;
            }
            self.fill_more().await?;
        };
        let head = self.unread.drain(..head_length).collect();
        let head = String::from_utf8(head).map_err(io::Error::other)?;
        let mut message = Message { head, body: Vec::new() };
        let stated = message.header("content-length").and_then(|length| length.parse().ok());
        let bodiless = message.head.starts_with("GET ").then_some(0);
        let length: usize = stated
            .or(bodiless)
            .ok_or_else(|| io::Error::other("a message without content-length"))?;
        while self.unread.len() < length {
            self.fill_more().await?;
        }
        message.body = self.unread.drain(..length).collect();
        Ok(message)
    }

    pub(crate) async fn write(&mut self, message: &Message) -> io::Result<()> {
        // In one piece: a head that arrives alone would be one more thing that differs from the engine.
        self.stream
            .write_all(&[message.head.as_bytes(), &message.body].concat())
            .await
    }

    /// Waits until the other side has gone, in whatever way.
    pub(crate) async fn gone(&mut self) {
        while matches!(self.fill().await, Ok(1..)) {}
    }

    /// Ends the connection with a reset instead of a close.
    pub(crate) fn reset(self) -> io::Result<()> {
        self.stream.set_zero_linger()
    }
}
