export type { PluginLogger, PluginSecrets, Progress, WorkContext } from './context.js';
export { type Defined, type DefinitionKind, kindOf } from './definition.js';
export type { FileReference, FileWithContent, NewFile, ResultWithArtifacts, WorkspaceFiles } from './files.js';
export {
  type ActionContext,
  defineHook,
  type HookContext,
  type HookContextOf,
  type HookDefinition,
  type HookedCall,
  type HookedEnd,
  type HookedInterrupt,
  type HookedJob,
  type HookedMessage,
  type HookedNode,
  type HookedNotification,
  type HookedTool,
  type HookEvent,
  type HookEvents,
  type HookMatch,
  type HookOutcomes,
  type HookSpec,
} from './hook.js';
export { defineNode, type NodeContext, type NodeDefinition, type NodeRetry, type NodeSpec } from './node.js';
export { definePlugin, type PluginDefinition, type PluginSpec, type SetupContext } from './plugin.js';
export type { InputOf, InputSchema, JsonObject, JsonSchema, StandardSchema } from './schema.js';
export {
  type ClientToolContext,
  defineTool,
  type OnUnknown,
  type ToolContext,
  type ToolDefinition,
  type ToolEffect,
  type ToolOptions,
  type ToolRuntime,
  type ToolSpec,
  type Verification,
} from './tool.js';
