export { skipRestoredSlots } from './restored-slots.repository.js';
export { ScheduleTimers } from './schedule-timers.js';
export { SchedulesModule } from './schedules.module.js';
export { SchedulesService } from './schedules.service.js';
