-- How far the progress of a call in the isolated queue has been shown: several processes read its messages, in any order.

-- AlterTable
ALTER TABLE "tool_call" ADD COLUMN     "progress_at" TIMESTAMPTZ(3),
ADD COLUMN     "progress_seq" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "progress_shown" INTEGER NOT NULL DEFAULT 0;
