import { processEnvironment } from '#platform';

import { runAdmin } from './launcher/src/admin/run-admin.js';

process.exitCode = await runAdmin({
  words: process.argv.slice(2),
  environment: processEnvironment(),
  print: (line) => process.stdout.write(`${line}\n`),
  printError: (line) => process.stderr.write(`${line}\n`),
});
