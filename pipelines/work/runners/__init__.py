"""Server side for runners on other machines: the other end of `transport/http`. It trusts no fact of theirs
(law §15): what they upload is read and counted here."""
