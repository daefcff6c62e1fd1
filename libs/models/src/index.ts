export type {
  AssistantMessage,
  ChatMessage,
  ContentPart,
  FinishReason,
  MessageContent,
  MessageToolCall,
  Model,
  ModelLimits,
  ModelOptions,
  ModelParameters,
  ModelPart,
  ModelRequest,
  ModelTarget,
  ModelUsage,
  RequestedCall,
  SystemMessage,
  ToolChoice,
  ToolDefinition,
  ToolMessage,
  UserMessage,
} from './model/model.js';
export { MAX_ARGUMENT_BYTES } from './model/model.js';
export { isProviderDown, missingModelKey, ModelError, type ModelErrorCode } from './model/models.errors.js';
export { createModelAgent, createOpenAiModel, type OpenAiModelOptions } from './openai-model.js';
export { jobKeyPlace, jobKeys, ModelCatalog } from './model-catalog.js';
export { providerKeys } from './providers/provider-key-place.js';
export { ModelsModule } from './models.module.js';
export { type DemoModel, type DemoModelOptions, startDemoModel } from './demo/demo-model.js';
export type { ModelProvider, ModelProviderChanges, NewModelProvider } from './providers/model-provider.js';
export { ModelProvidersService } from './providers/model-providers.service.js';
