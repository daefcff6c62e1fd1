export { WorkflowsApiModule } from './workflows-api.module.js';
