import { parentPort } from 'node:worker_threads';
import { serveWriter } from './server.ts';
import { ReadModelWriter } from './writer.ts';
import { threadData } from '../../../runtime/util/thread-data.ts';
import { must } from '../../../domain/values/must.ts';

/* The writer's thread, so that SQLite's commits never block requests. */

serveWriter(must(parentPort), new ReadModelWriter(threadData<{ file: string }>().file));
