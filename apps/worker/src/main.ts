import { runProcess } from '../../launcher/src/run-process.js';
import { startWorkerRole } from './start-worker-role.js';

await runProcess({ worker: startWorkerRole });
