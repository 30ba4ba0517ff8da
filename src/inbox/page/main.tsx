import { render } from "preact";
import { App } from "./app.tsx";
import { Api } from "./client.ts";
import "./style/base.css";
import "./style/parts.css";
import "./style/question.css";

const root = document.getElementById("app");
if (root !== null) render(<App api={new Api()} />, root);
