export { ApprovalsApiModule } from './approvals/approvals-api.module.js';
export { ClientToolsApiModule } from './client-tools/client-tools-api.module.js';
export { InterruptLoaders } from './interrupts/interrupt-loaders.js';
export { InterruptsApiModule } from './interrupts/interrupts-api.module.js';
