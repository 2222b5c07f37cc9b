// Reads a card from standard input by the library whose file is named, and says what it found and what it knows of it.
const { readFileSync } = require("node:fs");

const library = { exports: {} };
// No `require`: the file lies below a package of modules, and is none
new Function("module", "exports", readFileSync(process.argv[2], "utf8"))(library, library.exports);
const { AdaptiveCard, SerializationContext } = library.exports;
const context = new SerializationContext();
const card = new AdaptiveCard();
card.parse(JSON.parse(readFileSync(0, "utf8")), context);
const found = [...Array(context.eventCount).keys()].map((index) => context.getEventAt(index).message);
const invalid = card.validateProperties().validationEvents.map((event) => event.message);
console.log(JSON.stringify({ faults: [...found, ...invalid], known: card.toJSON() }));
