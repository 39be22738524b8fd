import express from 'express';
import { announce } from './announce.ts';

/* The bare floor: what express itself costs. */
const app = express();
app.get('/', (_request, response) => {
  response.json({ hello: 'world' });
});
announce(app.listen(0, '127.0.0.1'));
