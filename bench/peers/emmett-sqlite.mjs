import { getSQLiteEventStore } from '@event-driven-io/emmett-sqlite';
import { serve } from './runner.mjs';

const store = getSQLiteEventStore({ fileName: process.argv[2] });

/*
 * Its calls share one connection and fail when they overlap, so callers take turns. Even then a commit now and then
 * meets the end of the call before it and answers SQLITE_BUSY: that append is repeated.
 */
const appendOnce = (stream, data) =>
  store.appendToStream(stream, [{ type: 'SessionCreated', data }], { expectedStreamVersion: 'STREAM_DOES_NOT_EXIST' });

async function appendSurely(stream, data) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await appendOnce(attempt === 1 ? stream : `${stream}-${attempt}`, data);
    } catch (error) {
      if (attempt === 20 || !String(error).includes('SQLITE_BUSY')) throw error;
    }
  }
}

let turn = Promise.resolve();
const append = (stream, data) => {
  const mine = turn.then(() => appendSurely(stream, data));
  turn = mine.catch(() => undefined);
  return mine;
};

serve(append, async () => undefined);
