import { runProcess } from '../../launcher/src/run-process.js';
import { startApiRole } from './start-api-role.js';

await runProcess({ api: startApiRole });
