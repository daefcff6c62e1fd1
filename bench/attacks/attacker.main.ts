/**
 * Runs one attack in a process of its own, so that its CPU time is not the measurement's. Arguments: name of the attack, URL, API
 * key, seconds. Prints how the server answered.
 */
import { allAttacks } from './all-attacks.js';
import { Outcomes } from './attack.js';

const [name = '', url = '', apiKey = '', seconds = '10'] = process.argv.slice(2);
const attack = allAttacks.find((candidate) => candidate.name === name);
if (attack === undefined) throw new Error(`Unknown attack ${name}`);
const signal = AbortSignal.timeout(Number(seconds) * 1_000);
const outcomes = new Outcomes();
await attack.run({ url, apiKey }, { signal }, outcomes);
process.stdout.write(`${outcomes.toString()}\n`);
process.exit();
