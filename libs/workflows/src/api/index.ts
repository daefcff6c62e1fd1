export { workflowStateSchema } from './workflow-state-schema.js';
export { WorkflowsApiModule } from './workflows-api.module.js';
