export { FilesApiModule } from './files-api.module.js';
