import { runProcess } from '../../launcher/src/run-process.js';
import { startToolsRole, startWorkerRole } from './start-worker-role.js';

await runProcess({ worker: startWorkerRole, tools: startToolsRole });
