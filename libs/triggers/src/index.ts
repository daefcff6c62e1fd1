export { parseTriggerFiles, TriggerFileError } from './inbound/trigger-files.js';
export { type DocumentChange, TriggerIndex } from './inbound/trigger-index.js';
export { TriggerWorker } from './inbound/trigger-worker.js';
export { DeliveryWorker } from './outbound/deliveries/delivery-worker.js';
export { channelSecrets } from './outbound/notifications/notification-channel.js';
export { endpointSecrets } from './outbound/endpoint-secrets.js';
export { TriggersModule } from './triggers.module.js';
