import { parentPort, workerData } from 'node:worker_threads';
import { serveWriter } from './server.ts';
import { ReadModelWriter } from './writer.ts';
import { must } from '../../../domain/must.ts';

/* The writer's thread: SQLite's commits never hold up the requests. */

serveWriter(must(parentPort), new ReadModelWriter((workerData as { file: string }).file));
