import { processEnvironment } from '#platform';

import { runBackup } from './launcher/src/backup/run-backup.js';
import { Terminal } from './launcher/src/terminal/terminal.js';

const environment = processEnvironment();
const noColor = (environment['NO_COLOR'] ?? '') !== '';
process.exitCode = await runBackup({
  request: process.argv[2] ?? '',
  environment,
  out: new Terminal(process.stdout, { noColor }),
  errors: new Terminal(process.stderr, { noColor }),
});
