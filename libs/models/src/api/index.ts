export { ModelProvidersApiModule } from './model-providers-api.module.js';
