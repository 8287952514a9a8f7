model BallOnTable "A ball on a vibrating table: it bounces, comes to rest on the table, and is thrown up again"
  parameter Real g(unit = "m/s2") = 10 "gravity";
  parameter Real A(unit = "m") = 0.3 "amplitude of the table";
  parameter Real w(unit = "rad/s") = 6.283185307179586 "frequency of the table";
  parameter Real e = 0.3 "coefficient of restitution";
  Real h(start = 0.01, fixed = true, unit = "m") "height of the ball";
  Real v(start = 0, fixed = true, unit = "m/s") "velocity of the ball";
  Real table(unit = "m") = A*sin(w*time) "height of the table";
equation
  der(h) = v;
  der(v) = -g;
  when h < table then
    reinit(v, A*w*cos(w*time) - e*(pre(v) - A*w*cos(w*time)));
  end when;
  annotation(experiment(StopTime = 3, Tolerance = 1e-9));
end BallOnTable;
