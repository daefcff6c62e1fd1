export { TriggersApiModule } from './triggers-api.module.js';
