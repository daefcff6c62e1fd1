export { SchedulesApiModule } from './schedules-api.module.js';
