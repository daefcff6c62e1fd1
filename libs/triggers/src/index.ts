export { parseTriggerFiles } from './inbound/trigger-files.js';
export { type DocumentChange, TriggerIndex } from './inbound/trigger-index.js';
export { endpointSecrets } from './outbound/webhook-endpoint.js';
export { DeliveryWorker } from './outbound/delivery-worker.js';
export { TriggersModule } from './triggers.module.js';
