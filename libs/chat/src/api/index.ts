export { ChatApiModule } from './chat-api.module.js';
export { AgentSelectionInput } from './start/agent-selection.input.js';
export { fromStartChatInput, toIdempotency, toName, toProviderKey } from './start/from-start-chat-input.js';
export { mayCreateThread } from './start/may-create-thread.js';
export { ChatMessageInput } from './start/start-chat.input.js';
export { controlFields, parameterNames, startBody } from './start/start-body.js';
export { maxModelRetryForMs, toProviderDown } from './start/to-provider-down.js';
export { providerKeyOf, toIdempotencyKey } from './start/to-start-chat.js';
export { ThreadLoaders } from './threads/thread-loaders.js';
