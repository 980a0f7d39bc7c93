//! The image of an item: its attributes in the order received.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};

use super::attribute::{Attribute, Scalar};
use super::text::Text;
use crate::item::Item;

/// An item before or after a change.
#[derive(Clone, Debug, Default)]
pub struct Image<'a> {
    attributes: Vec<(Cow<'a, str>, Attribute<'a>)>,
}

impl<'a> Image<'a> {
    /// Every attribute with what a rule may see of it, in the order received.
    pub fn scalars(&self) -> impl Iterator<Item = (&str, Scalar<'_>)> {
        self.attributes
            .iter()
            .map(|(name, attribute)| (&**name, attribute.scalar()))
    }

    /// One attribute.
    pub fn get(&self, name: &str) -> Option<&Attribute<'a>> {
        self.attributes
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, attribute)| attribute)
    }

    /// One attribute's text.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.get(name)?.scalar() {
            Scalar::S(text) => Some(text),
            _ => None,
        }
    }

    /// The whole item, each value exact. `None` if an attribute is no value of DynamoDB: such an image cannot be
    /// copied.
    pub fn to_item(&self) -> Option<Item> {
        self.attributes
            .iter()
            .map(|(name, attribute)| Some((name.to_string(), attribute.to_value()?)))
            .collect()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Image<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ImageVisitor;
        impl<'de> Visitor<'de> for ImageVisitor {
            type Value = Image<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an item image")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Image<'de>, M::Error> {
                // A two-limit bucket has about 35 attributes.
                let mut attributes = Vec::with_capacity(40);
                while let Some((Text(name), attribute)) = map.next_entry()? {
                    attributes.push((name, attribute));
                }
                Ok(Image { attributes })
            }
        }
        deserializer.deserialize_map(ImageVisitor)
    }
}
