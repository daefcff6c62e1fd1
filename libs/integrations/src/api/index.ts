export { IntegrationsApiModule } from './integrations-api.module.js';
