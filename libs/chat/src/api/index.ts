export { ChatApiModule } from './chat-api.module.js';
export { toIdempotency, toName, toProviderKey } from './start/from-start-chat-input.js';
export { mayCreateThread } from './start/may-create-thread.js';
export { controlFields, parameterNames, startBody } from './start/start-body.js';
export { toProviderDown } from './start/to-provider-down.js';
export { providerKeyOf, toIdempotencyKey } from './start/to-start-chat.js';
export { ThreadLoaders } from './threads/thread-loaders.js';
