export { Files } from './files.service.js';
export { FileRetentionModule, FilesModule } from './files.module.js';
export { type FileReference, hashOf, isFileHash, type StoredFile, toFileName } from './stored-file.js';
