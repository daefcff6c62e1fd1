import { Module } from '@nestjs/common';

import { ViewersModule } from '#auth/api';

import { FilesModule } from '../files.module.js';
import { FileDownload } from './file-download.js';
import { FileUpload } from './file-upload.js';
import { FilesController } from './files.controller.js';
import { FilesResolver } from './files.resolver.js';
import { UploadLimiter } from './upload-limiter.js';

/** Files of a workspace: upload, download, list. */
@Module({
  imports: [FilesModule, ViewersModule],
  controllers: [FilesController],
  providers: [FileDownload, FilesResolver, FileUpload, UploadLimiter],
})
export class FilesApiModule {}
