import { openWithWriter } from '../../src/adapters/sqlite/read-model/read-model.ts';
import { putRow } from '../../src/ports/read-model/read-model.ts';
import { keysOfArchived, rowOf, TABLE, timeOf } from './archived-rows.ts';

/* Archives rows, writes them again and removes their copies, again and again, until it is killed. */

const { model, writer } = openWithWriter(process.argv[2]!);
const keys = keysOfArchived();
for (let round = 0; ; round += 1) {
  for (let after: number | null = 0; after !== null; after = writer.archive(TABLE, timeOf, Infinity, after));
  process.send!('archived');
  const again = keys.filter((_, index) => index % 3 === round % 3);
  await model.apply(
    'killed@1',
    again.map((key) => putRow(TABLE, key, rowOf(key))),
    String(round),
  );
  while (writer.sweep());
}
