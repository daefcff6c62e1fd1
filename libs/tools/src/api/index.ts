export { ToolCallLoaders } from './tool-calls/tool-call-loaders.js';
export { ToolCallsApiModule } from './tool-calls/tool-calls-api.module.js';
export { ToolQueueApiModule } from './tool-queue/tool-queue-api.module.js';
export { ToolEffectEnum } from './tool.model.js';
export { ToolsApiModule } from './tools-api.module.js';
