-- What a model called a tool with whose arguments are the answer: no tool call, so it is kept with its round.

-- AlterTable
ALTER TABLE "round" ADD COLUMN     "captured" TEXT;
