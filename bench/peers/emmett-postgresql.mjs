import { getPostgreSQLEventStore } from '@event-driven-io/emmett-postgresql';
import { serve } from './runner.mjs';

const store = getPostgreSQLEventStore(process.argv[2]);

serve(
  (stream, data) =>
    store.appendToStream(stream, [{ type: 'SessionCreated', data }], {
      expectedStreamVersion: 'STREAM_DOES_NOT_EXIST',
    }),
  () => store.close(),
);
